// Times: shown and typed in the reader's time zone, sent in UTC. Countdowns use the server's clock: the reader's may be
// wrong.

const ahead = new Date(document.body.dataset.now) - Date.now();
const two = (n) => String(n).padStart(2, "0");

function remaining(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 3600) return `${Math.floor(s / 60)}:${two(s % 60)}`;
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

function local(at, form) {
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  if (form === "day") return day;
  const clock = `${two(at.getHours())}:${two(at.getMinutes())}` + (form === "second" ? `:${two(at.getSeconds())}` : "");
  return at.toDateString() === new Date().toDateString() ? clock : `${day} ${clock}`;
}

function write(time, now) {
  const at = new Date(time.getAttribute("datetime"));
  const seconds = (at - now) / 1000;
  let text = "";
  if (time.dataset.form === "left") {
    text = seconds <= 0 ? "ending" : `${remaining(seconds)} left`;
    time.dataset.near = seconds <= 60 ? "now" : seconds <= 300 ? "soon" : "";
  } else if (time.dataset.form === "ago") text = past(-seconds);
  else text = local(at, time.dataset.form);
  if (time.textContent !== text) time.textContent = text;
  if (!time.title) time.title = at.toLocaleString();
}

export function tick() {
  const now = Date.now() + ahead;
  for (const time of document.querySelectorAll("time[data-form]")) write(time, now);
}

const placed = new WeakSet();
// Converts the values of inputs to the reader's time zone, once each.
export function place() {
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
setInterval(tick, 1000);
