import { createServer } from 'node:http';
import { listeningPort } from '../limits/listening-port.ts';
import { vi } from 'vitest';
import { acceptToolsOf } from '../mounts/accept-tools.ts';
import { hostileProgram, mountYaml } from '../mounts/mount-yaml.ts';
import { startPaidSearch, type PaidSearch } from '../e2e/start-paid-search.ts';

/** A gateway that serves metrics, with one use of everything that they tell of. */
export interface UsedGateway {
  search: PaidSearch;
  /** Calls everything once, also what fails. */
  useAll(): Promise<void>;
  /** Answers what Prometheus reads. */
  scrape(): Promise<string>;
  stop(): Promise<void>;
}

export const startUsedGateway = async (): Promise<UsedGateway> => {
  const search = await startPaidSearch({
    // Their groups of writes are measured.
    storeThreads: true,
    yaml: mountYaml({ hostile: { args: [hostileProgram] } }),
    environment: {
      METRICS_LISTEN: '0',
      ALLOW_LOOPBACK_URLS: 'true',
      PATH: process.env['PATH'] ?? '',
    },
  });
  await acceptToolsOf(search.gateway.services, 'hostile');
  const { gateway, prove } = search;
  const { url } = gateway.services.telemetry ?? {};
  if (typeof url !== 'string') throw new Error('metrics are not served');

  const receiver = createServer((_request, response) => response.writeHead(204).end());
  const hook = `http://127.0.0.1:${await listeningPort(receiver.listen(0, '127.0.0.1'))}/hook`;

  const chat = async (content: string, stream: boolean): Promise<void> => {
    const body = { messages: [{ role: 'user', content }], stream };
    await (await gateway.call('/v1/chat/completions', { body })).text();
  };
  const makeImage = async (): Promise<void> => {
    const response = await gateway.call('/v1/images/generations?async=true', {
      body: { model: 'imagemodel-1.0', prompt: 'a lighthouse', webhook_url: hook },
    });
    if (response.status !== 202) throw new Error(await response.text());
    const { id } = (await response.json()) as { id: string };
    const delivered = () =>
      gateway.services.store.listWebhooks({ jobId: id, states: ['delivered'], limit: 1 });
    await vi.waitUntil(async () => (await delivered()).length > 0, { timeout: 60_000 });
  };
  const callTool = (name: string): Promise<Response> =>
    gateway.call('/mcp', {
      headers: { accept: 'application/json, text/event-stream' },
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } },
    });
  return {
    search,
    useAll: async () => {
      await chat('Hello', true);
      await chat('[sandbox:fail] Hello', false);
      await makeImage();
      await (await callTool('get_balance')).text();
      for (const tool of ['echo', 'fail', 'die'])
        await (await gateway.call(`/v1/tools/hostile/${tool}`, { method: 'POST' })).text();
      const paid = await gateway.call('/v1/search?query=coffee&limit=20', {
        apiKey: null,
        headers: { 'payment-signature': await prove() },
      });
      if (paid.status !== 200) throw new Error(await paid.text());
    },
    scrape: async () => (await fetch(url)).text(),
    stop: async () => {
      await search.stop();
      receiver.close();
      receiver.closeAllConnections();
    },
  };
};
