import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { McpMount } from '../../src/mcp/mount-mcp.ts';

export interface ServedMount {
  /** Without a path. */
  url: string;
  close(): Promise<void>;
}

/** Serves a mount on a free port of loopback. `createMount` is told the address first. */
export const serveMount = async (
  createMount: (url: string) => McpMount | Promise<McpMount>,
): Promise<ServedMount> => {
  let requests = 0;
  let mount: McpMount = () => false;
  const server = createServer((request, response) => {
    requests += 1;
    const requestId = `req_${requests}`;
    response.setHeader('x-request-id', requestId);
    const facts = {
      requestId,
      url: new URL(request.url ?? '/', 'http://localhost'),
      clientAddress: '127.0.0.1',
    };
    if (!mount(request, response, facts)) response.writeHead(404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  mount = await createMount(url);
  return {
    url,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};
