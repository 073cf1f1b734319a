// Says so when the server is gone: a page that only looks alive misleads whoever watches it.
const lost = document.getElementById("lost");
const heard = (isHeard) => { if (lost) { lost.hidden = isHeard; document.body.classList.toggle("stale", !isHeard); } };
for (const gone of ["htmx:sendError", "htmx:timeout"]) document.body.addEventListener(gone, () => heard(false));
document.body.addEventListener("htmx:afterOnLoad", () => heard(true));
