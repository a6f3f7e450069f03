import { afterAll } from 'vitest';
import type { ClientKind, TestClient } from './clients.ts';

/**
 * Returns a function that hands a client to a test: one for each key and address, because clients compile the schemas of
 * all tools that they list.
 */
export const shareClients = (connect: ClientKind['connect'], url: () => string) => {
  const connected = new Map<string, Promise<TestClient>>();
  const connectAndList = async (apiKey: string | null, path: string): Promise<TestClient> => {
    const client = await connect(`${url()}${path}`, apiKey);
    // Clients check results against the schemas that they have listed.
    await client.listTools();
    return client;
  };
  afterAll(async () => {
    for (const client of connected.values()) await (await client).close();
  });
  return async <T>(
    apiKey: string | null,
    use: (client: TestClient) => Promise<T>,
    path = '/mcp',
  ): Promise<T> => {
    const name = `${apiKey} ${path}`;
    const client = connected.get(name) ?? connectAndList(apiKey, path);
    connected.set(name, client);
    return use(await client);
  };
};
