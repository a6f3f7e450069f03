import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** prlimit is run inside the sandbox, where only the folders of the system are. */
export const sandboxPath = `${process.env['PATH']}:/usr/bin:/bin`;

/** What the servers of the tests need: Node, packages and the servers. */
export const testPlaces = [
  dirname(process.execPath),
  ...['.', '../../node_modules'].map((path) => fileURLToPath(new URL(path, import.meta.url))),
];
