import type { LimitSettings } from '../limits/limit-settings.ts';
import type { Buyer, Catalogs } from './catalog.ts';

export interface AccountLimits {
  /** Videos that may be queued or running. */
  activeVideos: number;
  /** Calls in a minute, over REST and MCP together. */
  requestsPerMinute: number;
}

/** The limits of an account: its own where its terms have them, else the gateway's. Throws on terms that cannot be read. */
export const accountLimits = (
  buyer: Buyer,
  {
    catalogs,
    config,
  }: { catalogs: Catalogs; config: Pick<LimitSettings, 'activeVideos' | 'requestsPerMinute'> },
): AccountLimits => {
  const { ownLimits } = catalogs.for(buyer);
  return {
    activeVideos: ownLimits.activeVideos ?? config.activeVideos,
    requestsPerMinute: ownLimits.requestsPerMinute ?? config.requestsPerMinute,
  };
};
