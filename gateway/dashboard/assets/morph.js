// Morphs the page to new markup in place, so that focus, selection, scroll position and typed text are preserved.

function sameKind(one, other) {
  return (
    one.nodeType === other.nodeType &&
    one.nodeName === other.nodeName &&
    (one.nodeType !== Node.ELEMENT_NODE || one.dataset.key === other.dataset.key)
  );
}

function morphAttributes(from, to) {
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name)) from.removeAttribute(name);
  }
  for (const { name, value } of [...to.attributes]) {
    if (from.getAttribute(name) === value) continue;
    if (name === "open" && from.nodeName === "DETAILS") continue;
    from.setAttribute(name, value);
  }
}

function morphNode(from, to) {
  if (from.nodeType !== Node.ELEMENT_NODE) {
    if (from.nodeValue !== to.nodeValue) from.nodeValue = to.nodeValue;
    return;
  }
  const emptied = from.nodeName === "FORM" && from.dataset.reset !== to.dataset.reset;
  // The text of times is written by clock.js.
  const clocked = from.nodeName === "TIME" && from.getAttribute("datetime") === to.getAttribute("datetime");
  morphAttributes(from, to);
  if (!clocked && from.nodeName !== "TEXTAREA") morphChildren(from, to);
  if (emptied) from.reset();
}

function morphChildren(from, to) {
  const keyed = new Map();
  for (const child of from.children) if (child.dataset.key) keyed.set(child.dataset.key, child);
  let at = from.firstChild;
  for (const wanted of [...to.childNodes]) {
    const key = wanted.nodeType === Node.ELEMENT_NODE && wanted.dataset.key;
    const known = key && keyed.get(key);
    if (known && known.nodeName === wanted.nodeName) {
      if (known === at) at = at.nextSibling;
      else from.insertBefore(known, at);
      morphNode(known, wanted);
    } else if (at && sameKind(at, wanted) && !key) {
      const here = at;
      at = at.nextSibling;
      morphNode(here, wanted);
    } else {
      from.insertBefore(wanted, at);
    }
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

// Children are matched by `data-key`; a form is reset when its `data-reset` changes.
export function morph(element, markup) {
  const wanted = document.createElement("template");
  wanted.innerHTML = markup;
  morphChildren(element, wanted.content);
}
