// A part of a page that is given as markup. New markup is worked into what is there, so that focus, selection,
// scrolling and what a person has typed survive.

const MINE = new Set(["data-armed"]);

function sameKind(one, other) {
  return (
    one.nodeType === other.nodeType &&
    one.nodeName === other.nodeName &&
    (one.nodeType !== Node.ELEMENT_NODE || one.dataset.key === other.dataset.key)
  );
}

function morphAttributes(from, to) {
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name) && !MINE.has(name)) from.removeAttribute(name);
  }
  for (const { name, value } of [...to.attributes]) {
    if (from.getAttribute(name) === value) continue;
    if (name === "open" && from.nodeName === "DETAILS") continue;
    from.setAttribute(name, value);
  }
}

function morph(from, to) {
  if (from.nodeType !== Node.ELEMENT_NODE) {
    if (from.nodeValue !== to.nodeValue) from.nodeValue = to.nodeValue;
    return;
  }
  const emptied = from.nodeName === "FORM" && from.dataset.reset !== to.dataset.reset;
  // Times are written by the page's own clock.
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
      morph(known, wanted);
    } else if (at && sameKind(at, wanted) && !key) {
      const here = at;
      at = at.nextSibling;
      morph(here, wanted);
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

function isTyping(event) {
  const target = event.target;
  return (
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    event.isComposing ||
    target.isContentEditable ||
    /^(INPUT|TEXTAREA|SELECT)$/.test(target.nodeName) ||
    document.querySelector("dialog[open]") !== null
  );
}

// Writes what a button offers into the form around it.
function fill(button) {
  const { form } = button;
  for (const [name, value] of Object.entries(JSON.parse(button.dataset.fields))) form.elements[name].value = value;
  form.dispatchEvent(new Event("change", { bubbles: true }));
}

export default {
  template: `<component :is="tag"></component>`,
  props: { tag: String, content: String, keys: Array },
  mounted() {
    this.$el.innerHTML = this.content;
    window.purser?.tick();
    this.$el.addEventListener("click", this.clicked);
    this.$el.addEventListener("submit", this.sent);
    this.$el.addEventListener("change", this.changed);
    this.$el.addEventListener("input", this.typed);
    if (this.keys?.length) document.addEventListener("keydown", this.pressed);
  },
  beforeUnmount() {
    document.removeEventListener("keydown", this.pressed);
  },
  watch: {
    content(markup) {
      const wanted = document.createElement("template");
      wanted.innerHTML = markup;
      morphChildren(this.$el, wanted.content);
      window.purser?.tick();
    },
  },
  methods: {
    tell(name, data, fields) {
      this.$emit("act", { name, data: { ...data }, fields: { ...fields } });
    },
    clicked(event) {
      const target = event.target.closest("[data-act]");
      if (!target || target.nodeName === "FORM" || target.disabled || !this.$el.contains(target)) return;
      if (target.type === "submit") return;
      if (target.dataset.act === "fill") {
        fill(target);
        return;
      }
      if (target.nodeName === "A") {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
      }
      this.tell(target.dataset.act, target.dataset, {});
    },
    sent(event) {
      const form = event.target.closest("form[data-act]");
      if (!form) return;
      event.preventDefault();
      const button = event.submitter;
      const fields = Object.fromEntries(new FormData(form));
      for (const input of form.querySelectorAll('input[type="datetime-local"]')) {
        if (input.value) fields[input.name] = new Date(input.value).toISOString();
      }
      this.tell(button?.dataset.act ?? form.dataset.act, { ...form.dataset, ...button?.dataset }, fields);
    },
    changed(event) {
      const form = event.target.closest("form[data-live]");
      if (form) this.tell(form.dataset.live, form.dataset, Object.fromEntries(new FormData(form)));
    },
    // While somebody types, as soon as there is a pause.
    typed(event) {
      const form = event.target.closest("form[data-live][data-typing]");
      clearTimeout(this.pause);
      if (form) this.pause = setTimeout(() => this.changed(event), 250);
    },
    pressed(event) {
      if (isTyping(event) || event.repeat || !this.keys.includes(event.key)) return;
      event.preventDefault();
      this.tell("key", { key: event.key }, {});
    },
  },
};
