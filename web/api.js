// Calls of the server. The token is kept in this object only: it is gone with the page.

export class ApiError extends Error {
  constructor(status, detail, fields = []) {
    super(detail);
    this.status = status;
    this.fields = fields;  // of a 400: {location, message}
  }
}

async function errorOf(response) {
  let error = {};
  try {
    error = (await response.json()).error ?? {};
  } catch {
    // Not an answer of Sluice, such as one of a proxy.
  }
  return new ApiError(response.status, error.detail ?? `The server answered with ${response.status}.`, error.errors);
}

export class Api {
  #token = '';

  signIn(token) { this.#token = token; }
  signOut() { this.#token = ''; }

  // Returns a successful response.
  async open(path, { method = 'GET', body, signal } = {}) {
    const headers = {};
    if (this.#token) headers.Authorization = `Bearer ${this.#token}`;
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    const response = await fetch(path, {
      method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal,
      cache: 'no-store', credentials: 'omit', redirect: 'error',
    });
    if (!response.ok) throw await errorOf(response);
    return response;
  }

  async get(path, options) {
    return (await (await this.open(path, options)).json()).data;
  }

  async post(operation, body, options) {
    const response = await this.open(`/v2/ratelimit.${operation}`, { method: 'POST', body, ...options });
    const { data, pagination } = await response.json();
    return pagination === undefined ? data : { list: data, pagination };
  }
}

// One sentence about a call that failed.
export function explain(error) {
  if (error.status === 403) return `Not permitted: ${error.message}`;
  if (error instanceof ApiError) {
    return error.fields?.length ? error.fields.map(each => `${each.location} ${each.message}`).join('; ') : error.message;
  }
  return 'The server can’t be reached.';
}
