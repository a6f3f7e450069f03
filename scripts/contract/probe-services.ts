import type { Client } from './client.ts';

/** Which of the services that a server may do without are there. */
export interface Served {
  videos: boolean;
  search: boolean;
  mcp: boolean;
}

/** Asks each address for something that it must refuse: only one that is not there answers 404. */
export const probeServices = async ({ call }: Pick<Client, 'call'>): Promise<Served> => {
  const [videos, search, mcp] = await Promise.all([
    call('/v1/videos', { body: {} }),
    call('/v1/search?limit=0', { key: null }),
    call('/mcp', { key: null, body: {} }),
  ]);
  return { videos: videos.status !== 404, search: search.status !== 404, mcp: mcp.status !== 404 };
};
