// Loaded before anything is painted, so that the dark theme does not flash white.
(() => {
  const THEMES = ["light", "dark"];
  const dark = matchMedia("(prefers-color-scheme: dark)");

  function paint() {
    const stored = localStorage.getItem("purser-theme");
    const theme = THEMES.includes(stored) ? stored : "auto";
    document.documentElement.dataset.theme = theme === "auto" ? (dark.matches ? "dark" : "light") : theme;
    for (const button of document.querySelectorAll("[data-theme-choice]")) {
      button.setAttribute("aria-pressed", String(button.dataset.themeChoice === theme));
    }
  }

  document.addEventListener("click", (event) => {
    const choice = event.target.closest("[data-theme-choice]");
    if (!choice) return;
    localStorage.setItem("purser-theme", choice.dataset.themeChoice);
    paint();
  });
  dark.addEventListener("change", paint);
  addEventListener("storage", paint);
  document.addEventListener("DOMContentLoaded", paint);
  paint();
})();
