// Sends requests to the server that the page came from, and receives its messages about its state.

const LEAST_PAUSE = 1000;  // milliseconds between the beginnings of two requests for what is new
const LONGEST_PAUSE = 15000;
const LONGEST_ANSWER = 45000;  // the server answers within 20 seconds, even if nothing is new

const later = (time) => new Promise((done) => setTimeout(done, time));

/** Waits until the page is visible, because a hidden page sends no requests. */
function whenSeen() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((done) => document.addEventListener('visibilitychange', done, {once: true}));
}

class ServerLink {
  constructor() {
    this.token = new URLSearchParams(location.search).get('token') || '';
    this.revision = 0;
  }

  /** Sends a request. The messages of its errors are sentences for the user. */
  async request(path, question) {
    const headers = {Authorization: 'Bearer ' + this.token};
    if (question) headers['Content-Type'] = 'application/json';
    let answer;
    try {
      answer = await fetch(path, {
        method: question ? 'POST' : 'GET',
        headers,
        body: question ? JSON.stringify(question) : undefined,
        cache: 'no-store',
        credentials: 'omit',
        redirect: 'error',
        signal: AbortSignal.timeout(LONGEST_ANSWER),
      });
    } catch {
      throw new Error(
          'The server cannot be reached: start rematlas serve again where it has ended, and open the ' +
          'address that it prints; or connect again, where ssh was cut off.');
    }
    if (answer.ok) return answer;
    if (answer.status === 401)
      throw new Error(
          'The server was started again since this page was opened: open the address that it printed.');
    const text = await answer.text();
    let told = text;
    try {
      told = JSON.parse(text).error;
    } catch {
      // The text is not JSON but the message itself.
    }
    throw new Error(told.trim() || `The server answers with status ${answer.status}.`);
  }

  async ask(path, question) {
    return (await this.request(path, question)).json();
  }

  /**
   * Calls `take` with each new state. Calls `trouble` with a sentence after an error, and with '' after a
   * success.
   */
  async follow(take, trouble) {
    for (let pause = LEAST_PAUSE;;) {
      const begun = performance.now();
      let told = null;
      try {
        told = await this.ask('state?since=' + this.revision);
      } catch (error) {
        trouble(error.message);
      }
      if (told) {
        trouble('');
        take(told);
        this.revision = told.revision;
      }
      pause = told ? LEAST_PAUSE : Math.min(LONGEST_PAUSE, 2 * pause);
      await later(Math.max(0, begun + pause - performance.now()));
      await whenSeen();
    }
  }
}
