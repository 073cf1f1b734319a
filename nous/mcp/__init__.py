"""Memory over the Model Context Protocol: five tools, so that any client of it remembers, over what the HTTP API is made of.

    client ──stdio────────────▶ one agent, given at the start ─┐
           ──streamable HTTP──▶ who: the agent of the token ───┴▶ a tool ─▶ a route of nous.api, called as a function ─▶ text
                                                                     └─ what went wrong ─▶ a tool error: a sentence, and what to do

tools    learn_fact, recall, expand, record_decision, why: what each takes, and what it answers
telling  how a memory came to be so, in lines
server   the protocol: tools listed and called, errors told
stdio    one client on standard input and output
http     any number of them on loopback, each with a token
"""
