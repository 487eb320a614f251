// @ts-check
// The line to the server: a socket that comes back by itself, and a poll where sockets are refused.

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
const POLL_MS = 3_000;
const SOCKET_AGAIN_MS = 60_000;

/**
 * How the page hears of news. `over`: it will not come back by itself, for the reason in `why`.
 * @typedef {{ kind: "live" } | { kind: "polling" } | { kind: "lost", since: number, retryAt: number } | { kind: "over", why: string }} State
 */

/**
 * @typedef {object} Listener
 * @property {() => string} url address of the socket, with the cursor to go on from
 * @property {(message: any) => void} take gets each message
 * @property {() => Promise<boolean>} poll asks by HTTP instead; false when nothing could be reached
 * @property {(state: State) => void} state hears how the line is
 */

/** @type {Record<number, string>} */
const FINAL = {
  4400: "The page asked for something the server did not understand. Reload it.",
  4401: "You are logged out. Log in again to go on watching.",
  4403: "You may not watch this. Ask an administrator for a role.",
  4404: "It does not exist any more.",
};

export class Line {
  /** @param {Listener} listener */
  constructor(listener) {
    this.listener = listener;
    this.failures = 0;
    /** @type {WebSocket | null} */
    this.socket = null;
    this.lostSince = 0;
    this.timer = 0;
    this.pollTimer = 0;
    this.isOver = false;
  }

  /** Connect now, whatever was planned. */
  open() {
    if (this.isOver) return;
    clearTimeout(this.timer);
    if (this.socket) this.socket.onclose = null;
    this.socket?.close();
    const address = new URL(this.listener.url(), location.href);
    address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    let wasOpen = false;
    socket.onopen = () => { wasOpen = true; };
    socket.onmessage = (event) => this.hear(event.data);
    socket.onclose = (event) => { if (this.socket === socket) this.closed(event.code, wasOpen); };
    this.socket = socket;
    // An accepted socket may still be closed for its rights; so it counts as live a moment later, or at its first message.
    setTimeout(() => { if (this.socket === socket && socket.readyState === WebSocket.OPEN) this.isLive(); }, 300);
  }

  /** @param {object} message */
  send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  isLive() {
    clearTimeout(this.pollTimer);
    this.failures = 0;
    this.lostSince = 0;
    this.listener.state({ kind: "live" });
  }

  /** @param {string} data */
  hear(data) {
    const message = JSON.parse(data);
    if (message.type === "bye") return;
    this.isLive();
    this.listener.take(message);
  }

  /**
   * @param {number} code
   * @param {boolean} wasOpen
   */
  async closed(code, wasOpen) {
    this.socket = null;
    if (FINAL[code]) {
      this.isOver = true;
      this.listener.state({ kind: "over", why: FINAL[code] });
      return;
    }
    this.lostSince ||= Date.now();
    this.failures += 1;
    const isRefused = !wasOpen && this.failures > 1 && await this.listener.poll();
    if (isRefused) this.startPolling();
    else this.retry();
  }

  retry() {
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(this.failures - 1, 8)) * (0.5 + Math.random());
    this.listener.state({ kind: "lost", since: this.lostSince, retryAt: Date.now() + wait });
    this.timer = setTimeout(() => this.open(), wait);
  }

  /** HTTP works and sockets don't: something between refuses them. */
  startPolling() {
    this.listener.state({ kind: "polling" });
    clearTimeout(this.pollTimer);
    const again = async () => {
      if (await this.listener.poll()) this.pollTimer = setTimeout(again, POLL_MS);
      else this.retry();
    };
    this.pollTimer = setTimeout(again, POLL_MS);
    this.timer = setTimeout(() => { clearTimeout(this.pollTimer); this.open(); }, SOCKET_AGAIN_MS);
  }
}

/**
 * Say how the line is in a banner: since when it is lost, up to what the page is complete, when it is tried again.
 * @param {HTMLElement} banner
 * @param {State} state
 * @param {string} complete what the page is complete up to, as in "event 214"
 */
export function explain(banner, state, complete) {
  const words = banner.querySelector("p");
  banner.hidden = state.kind === "live" || (state.kind === "lost" && Date.now() - state.since < 1500);
  if (banner.hidden || !words) return;
  const lead = document.createElement("b");
  lead.textContent = leadOf(state);
  const text = `${lead.textContent} ${restOf(state, complete)}`;
  if (words.textContent !== text) words.replaceChildren(lead, ` ${restOf(state, complete)}`);
}

/** @param {State} state */
function leadOf(state) {
  if (state.kind === "lost") return `Connection lost ${seconds(Date.now() - state.since)} ago.`;
  return state.kind === "polling" ? "Sockets are refused on the way here." : "This page stands still.";
}

/**
 * @param {State} state
 * @param {string} complete
 */
function restOf(state, complete) {
  if (state.kind === "over") return state.why;
  if (state.kind === "polling") return "It asks for news every 3 s instead; passing text (words and output as they come) is missing.";
  const wait = state.kind === "lost" ? state.retryAt - Date.now() : 0;
  const next = wait > 500 ? `Trying again in ${seconds(wait)}.` : "Trying again now.";
  return `${next} What you see is complete up to ${complete}; the rest loads when the line is back.`;
}

/** @param {number} milliseconds */
function seconds(milliseconds) {
  const whole = Math.max(0, Math.round(milliseconds / 1000));
  return whole < 100 ? `${whole} s` : `${Math.round(whole / 60)} min`;
}
