// Tokens, a duration and a check that the tests of all clients share.
import { createHash } from 'node:crypto';

// So long that as good as no window ends while a test runs.
export const THIRTY_DAYS = 2592000000;

export const MANAGER = 'a-token-with-every-permission';
export const LIMITER = 'a-token-that-may-only-limit';

const entry = (name, token, permissions) => `
[[tokens]]
name = "${name}"
sha256 = "${createHash('sha256').update(token).digest('hex')}"
workspace = "clients"
namespaces = ["*"]
permissions = [${permissions.map(permission => `"${permission}"`).join(', ')}]
`;

// A configuration that knows both tokens.
export const TOKENS =
  entry('manager', MANAGER, ['limit', 'read_override', 'set_override', 'delete_override']) +
  entry('limiter', LIMITER, ['limit']);

// What the promise was rejected with; undefined if it was not.
export const rejection = promise => promise.then(() => undefined, error => error);
