import type { SearchConfig } from '../config.ts';
import { createChatCompletion } from './create-chat-completion.ts';
import { createImage } from './create-image.ts';
import { getBalance } from './get-balance.ts';
import { getJob } from './get-job.ts';
import { listModels } from './list-models.ts';
import type { Operation } from './operation.ts';
import { createSearchLeads } from './search-leads.ts';

/** Everything a gateway with these settings does, in the order that tool lists and documents show. */
export const createOperations = (search: SearchConfig): readonly Operation[] => [
  createSearchLeads(search),
  listModels,
  getBalance,
  createChatCompletion,
  createImage,
  getJob,
];
