import { createChatCompletion } from './create-chat-completion.ts';
import { createImage } from './create-image.ts';
import { getBalance } from './get-balance.ts';
import { getJob } from './get-job.ts';
import { listModels } from './list-models.ts';
import type { Operation } from './operation.ts';
import { searchLeads } from './search-leads.ts';

/** Everything the gateway does, in the order that tool lists and documents show. */
export const operations: readonly Operation[] = [
  searchLeads,
  listModels,
  getBalance,
  createChatCompletion,
  createImage,
  getJob,
];
