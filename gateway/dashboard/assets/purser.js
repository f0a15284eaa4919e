// The page's own clock, its theme, and its dialog of shortcuts. Everything else comes from the server.
(() => {
  const THEMES = ["auto", "light", "dark"];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => {
    const theme = localStorage.getItem("purser-theme");
    return THEMES.includes(theme) ? theme : "auto";
  };

  function paint() {
    const theme = stored();
    const shown = theme === "auto" ? (dark.matches ? "dark" : "light") : theme;
    document.documentElement.dataset.theme = shown;
    window.Quasar?.Dark.set(shown === "dark");
    for (const button of document.querySelectorAll("[data-theme-choice]")) {
      button.setAttribute("aria-pressed", String(button.dataset.themeChoice === theme));
    }
  }

  function span(seconds) {
    const s = Math.max(0, Math.floor(seconds));
    if (s < 3600) return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`;
    if (s < 48 * 3600) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
    return `${Math.floor(s / 86400)} days`;
  }

  function past(seconds) {
    const s = Math.max(0, Math.floor(seconds));
    if (s < 60) return `${s} s ago`;
    if (s < 3600) return `${Math.floor(s / 60)} min ago`;
    if (s < 48 * 3600) return `${Math.floor(s / 3600)} h ago`;
    return `${Math.floor(s / 86400)} days ago`;
  }

  const two = (n) => String(n).padStart(2, "0");
  function local(at, form) {
    const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
    if (form === "day") return day;
    const clock = `${two(at.getHours())}:${two(at.getMinutes())}` + (form === "second" ? `:${two(at.getSeconds())}` : "");
    return at.toDateString() === new Date().toDateString() ? clock : `${day} ${clock}`;
  }

  // Countdowns go by the server's clock: that of the reader may be wrong.
  let ahead = 0;
  function tick() {
    const now = Date.now() + ahead;
    for (const time of document.querySelectorAll("time[data-form]")) {
      const at = new Date(time.getAttribute("datetime"));
      const seconds = (at - now) / 1000;
      let text = "";
      if (time.dataset.form === "left") {
        text = seconds <= 0 ? "ending" : `${span(seconds)} left`;
        time.dataset.near = seconds <= 60 ? "now" : seconds <= 300 ? "soon" : "";
      } else if (time.dataset.form === "ago") text = past(-seconds);
      else text = local(at, time.dataset.form);
      if (time.textContent !== text) time.textContent = text;
      if (!time.title) time.title = at.toLocaleString();
    }
  }

  // Times come in UTC, are shown and typed in the reader's own zone, and are sent in UTC.
  const placed = new WeakSet();
  function place() {
    for (const input of document.querySelectorAll("input[data-utc]")) {
      if (placed.has(input)) continue;
      placed.add(input);
      if (!input.value) continue;
      const at = new Date(`${input.value}Z`);
      input.value = `${local(at, "day")}T${two(at.getHours())}:${two(at.getMinutes())}`;
    }
  }
  document.addEventListener("formdata", (event) => {
    for (const input of event.target.querySelectorAll("input[data-utc]")) {
      if (input.value) event.formData.set(input.name, new Date(input.value).toISOString());
    }
  });

  document.addEventListener("click", (event) => {
    const choice = event.target.closest("[data-theme-choice]");
    if (choice) {
      localStorage.setItem("purser-theme", choice.dataset.themeChoice);
      paint();
    }
    const opener = event.target.closest("[data-opens]");
    if (opener) document.getElementById(opener.dataset.opens)?.showModal();
    if (event.target.nodeName === "DIALOG" || event.target.closest("[data-closes]")) event.target.closest("dialog")?.close();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "?" || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.nodeName)) return;
    const help = document.getElementById("shortcuts");
    if (help && !help.open) help.showModal();
  });
  dark.addEventListener("change", paint);
  window.addEventListener("storage", paint);
  document.addEventListener("DOMContentLoaded", () => document.getElementById("popup")?.setAttribute("role", "alert"));
  paint();
  setInterval(tick, 1000);
  window.purser = {
    tick() {
      tick();
      paint();
      place();
    },
    set(serverNow) {
      ahead = new Date(serverNow) - Date.now();
      tick();
    },
    // Presses a button of a form for a shortcut; the server asks once more, as keys are hit by accident.
    send(form, act) {
      const button = document.querySelector(`${form} button[data-act="${act}"]:not(:disabled)`);
      if (!button) return;
      button.dataset.key = "1";
      button.form.requestSubmit(button);
      delete button.dataset.key;
    },
    reveal(selector, focus) {
      requestAnimationFrame(() => {
        const found = document.querySelector(selector);
        found?.scrollIntoView({ block: "nearest" });
        if (focus) found?.focus();
      });
    },
  };
})();
