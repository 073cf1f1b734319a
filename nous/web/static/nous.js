// Keeps a part of the page up to date: it is asked for again and again, and only what differs is changed, so that focus, scrolling and
// what somebody has selected stay. Says so when the server is gone: a page that only looks alive misleads whoever watches it.
const EVERY_MS = 2_000;
const LIMIT_MS = 15_000;
const part = document.querySelector("[data-part]");
const lost = document.getElementById("lost");

async function follow() {
  try {
    const answer = await fetch(part.dataset.part, { headers: { "Nous-Part": "true" }, signal: AbortSignal.timeout(LIMIT_MS) });
    const told = document.createElement("template");
    told.innerHTML = await answer.text();
    document.title = told.content.querySelector("title").textContent;
    keepingFocus(() => contain(part, told.content));
    heard(true);
  } catch {
    heard(false);
  }
  setTimeout(follow, EVERY_MS);
}

function keepingFocus(change) {
  const href = part.contains(document.activeElement) && document.activeElement.getAttribute("href");
  change();
  if (!href || document.activeElement.getAttribute("href") === href) return;
  const moved = [...part.querySelectorAll("a")].find((one) => one.getAttribute("href") === href);
  if (moved) moved.focus({ preventScroll: true });
  else document.activeElement.blur();
}

function become(old, fresh) {
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  contain(old, fresh);
}

function contain(old, fresh) {
  const now = [...fresh.childNodes];
  [...old.childNodes].slice(now.length).forEach((gone) => gone.remove());
  now.forEach((one, at) => {
    const was = old.childNodes[at];
    if (!was) old.append(one);
    else if (was.isEqualNode(one)) return;
    else if (was.nodeName === one.nodeName && one.attributes) become(was, one);
    else was.replaceWith(one);
  });
}

function heard(isHeard) {
  lost.hidden = isHeard;
  document.body.classList.toggle("stale", !isHeard);
}

if (part) setTimeout(follow, EVERY_MS);
