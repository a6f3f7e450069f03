import type { Client } from './client.ts';

/** The optional services that the server has. */
export interface Served {
  videos: boolean;
  search: boolean;
  mcp: boolean;
}

/** Sends each address a request that it must refuse. Only a missing service answers 404. */
export const probeServices = async ({ call }: Pick<Client, 'call'>): Promise<Served> => {
  const [videos, search, mcp] = await Promise.all([
    call('/v1/videos', { body: {} }),
    call('/v1/search?limit=0', { key: null }),
    call('/mcp', { key: null, body: {} }),
  ]);
  return { videos: videos.status !== 404, search: search.status !== 404, mcp: mcp.status !== 404 };
};
