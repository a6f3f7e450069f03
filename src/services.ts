import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createCatalog } from './catalog/catalog.ts';
import { systemClock } from './clock.ts';
import type { Config } from './config.ts';
import { createJobRunner } from './jobs/job-runner.ts';
import { createRunChat } from './jobs/run-chat.ts';
import { createRunImage } from './jobs/run-image.ts';
import { createCachedLeads } from './leads/cached-leads.ts';
import { openEmbeddedLeads } from './leads/embedded/open-embedded-leads.ts';
import { createSearchLimiter } from './limits/search-limiter.ts';
import type { Log } from './log.ts';
import { createDiskMedia, type MediaFiles } from './media/disk-media.ts';
import { createSaveMedia } from './media/media-library.ts';
import type { Services } from './operations/operation.ts';
import { createProviders } from './providers/create-providers.ts';
import { createX402Gate } from './purchases/x402-gate.ts';
import { openStore } from './store/open-store.ts';

/** What the server needs beside what operations need. */
export interface GatewayServices extends Services {
  mediaFiles: MediaFiles;
  readiness(): Promise<{ ready: boolean; store: string; search: string; payments: Record<string, string> }>;
  /** Tells the address that the server listens on, where PUBLIC_URL was not set. */
  listeningAt(url: string): void;
  /** What the operator should know at start, a line each. */
  notices(): string[];
  /** Starts what goes on in the background: jobs, payments that a crash left half-way, heavy modules. */
  begin(): void;
  /** Takes no more queued work and waits for what runs, at most DRAIN_MS. */
  drain(): Promise<void>;
  close(): Promise<void>;
}
