import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const { resolve } = createRequire(import.meta.url);

/** The programs of the servers that nobody here wrote. */
export const programOf = (name: 'everything' | 'filesystem'): string =>
  resolve(`@modelcontextprotocol/server-${name}/dist/index.js`);

export const hostileProgram = fileURLToPath(new URL('hostile-server.mjs', import.meta.url));

/** Writes the section `mcp_servers` of causeway.yaml. */
export const mountYaml = (servers: Record<string, object>): string =>
  JSON.stringify({
    mcp_servers: Object.fromEntries(
      Object.entries(servers).map(([name, server]) => [
        name,
        'url' in server ? server : { command: process.execPath, sandbox: 'none', ...server },
      ]),
    ),
  });
