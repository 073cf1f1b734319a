"""The page for operators: what waits, what is wrong and what to do about it; facts and their stories; what minds cost. It changes nothing.

    browser ──GET──▶ guard ──▶ a page's function ──▶ Answer ─┬─ a template (what an agent said is data, whatever it says)
                      │          looks, in a Read              └─ JSON, for who asks for it
                      └─ another method, or another host's name: refused

site       everything a page may look at, and the addresses
guard      what every request and every answer is held to
answers    an Answer as HTML or JSON; what went wrong as a page in plain words
rendering  templates, and how anything is written on a page
glance     the look all browsers share
attention  what an operator should know at once, and what to do about it
overview, parked, facts, explained, cost, thresholds    the pages
chain      which fact retired which
charts     where the bars of a chart stand
"""
