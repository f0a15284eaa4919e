// Desktop notifications: off until the person turns them on, in this browser alone.

const KEY = "purser-notify";
const isOn = () => localStorage.getItem(KEY) === "on" && globalThis.Notification?.permission === "granted";

export function notify({ title, text, id }) {
  if (!isOn()) return;
  // Pages that are open at the same time show one notification of a request: its tag is the same.
  const shown = new Notification(title, { body: text, tag: id });
  shown.onclick = () => {
    window.focus();
    location.assign(`/approvals?id=${encodeURIComponent(id)}`);
  };
}

for (const button of document.querySelectorAll("[data-notify]")) {
  const show = () => button.setAttribute("aria-pressed", String(isOn()));
  button.hidden = !globalThis.Notification;
  button.addEventListener("click", async () => {
    const wanted = !isOn();
    if (wanted) await Notification.requestPermission();
    localStorage.setItem(KEY, wanted ? "on" : "off");
    show();
  });
  show();
}
