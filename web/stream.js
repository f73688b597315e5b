// The stream of events of the server: one event a second. Read with fetch, which can send the token, as EventSource
// can't.

const kFirstDelay = 300; // in milliseconds, as the others
const kLongestDelay = 5000;
const kSilenceTimeout = 5000; // without an event

// Calls `onEvent(data)` for each event and `onState(state, error)` on each change: connecting, live, paused, retrying
// or refused. Pauses while the document is hidden. After a lost connection it connects again, with growing delays;
// a refused token or permission ends it.
export class EventStream {
  #api;
  #onEvent;
  #onState;
  #abort = null;
  #delay = kFirstDelay;
  #timer = 0;
  #watchdog = 0;
  #isStopped = true;

  constructor(api, { onEvent, onState }) {
    this.#api = api;
    this.#onEvent = onEvent;
    this.#onState = onState;
  }

  start() {
    this.#isStopped = false;
    document.addEventListener('visibilitychange', this.#onVisibility);
    this.#onVisibility();
  }

  stop() {
    this.#isStopped = true;
    document.removeEventListener('visibilitychange', this.#onVisibility);
    this.#disconnect();
  }

  #onVisibility = () => {
    if (document.hidden) {
      this.#disconnect();
      this.#onState('paused');
    } else if (this.#abort === null) {
      this.#delay = kFirstDelay;
      this.#connect();
    }
  };

  #disconnect() {
    clearTimeout(this.#timer);
    clearTimeout(this.#watchdog);
    this.#abort?.abort();
    this.#abort = null;
  }

  async #connect() {
    clearTimeout(this.#timer);
    const abort = new AbortController();
    this.#abort = abort;
    this.#onState('connecting');
    try {
      const response = await this.#api.open('/v2/node.events', { signal: abort.signal });
      await this.#read(response, abort);
      this.#retry(abort);
    } catch (error) {
      if (error.status === 401 || error.status === 403) this.#refuse(abort, error);
      else this.#retry(abort);
    }
  }

  async #read(response, abort) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      this.#watch(abort);
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        if (!line.startsWith('data:')) continue;
        this.#delay = kFirstDelay;
        this.#onState('live');
        this.#onEvent(JSON.parse(line.slice(5)));
      }
    }
  }

  #watch(abort) {
    clearTimeout(this.#watchdog);
    this.#watchdog = setTimeout(() => abort.abort(), kSilenceTimeout);
  }

  #refuse(abort, error) {
    if (this.#abort !== abort) return;
    this.#disconnect();
    this.#onState('refused', error);
  }

  // Does nothing if this connection was replaced or stopped.
  #retry(abort) {
    if (this.#abort !== abort || this.#isStopped) return;
    this.#disconnect();
    this.#onState('retrying');
    this.#timer = setTimeout(() => this.#connect(), this.#delay * (0.75 + Math.random() / 2));
    this.#delay = Math.min(2 * this.#delay, kLongestDelay);
  }
}
