import type { SearchConfig } from '../config.ts';
import { createChatCompletion } from './create-chat-completion.ts';
import { createImage } from './create-image.ts';
import { createResponse } from './create-response.ts';
import { createVideo } from './create-video.ts';
import { getBalance } from './get-balance.ts';
import { getJob } from './get-job.ts';
import { getModel } from './get-model.ts';
import { getResponse } from './get-response.ts';
import { getUsage } from './get-usage.ts';
import { getVideo } from './get-video.ts';
import { getVideoContent } from './get-video-content.ts';
import { listJobs } from './list-jobs.ts';
import { listModels } from './list-models.ts';
import { listTransactions } from './list-transactions.ts';
import type { Operation } from './operation.ts';
import { createSearchLeads } from './search-leads.ts';

/** Everything a gateway with these settings does, in the order that tool lists and documents show. */
export const createOperations = (search: SearchConfig): readonly Operation[] => [
  ...(search.isOn ? [createSearchLeads(search)] : []),
  listModels,
  getModel,
  getBalance,
  getUsage,
  listTransactions,
  createChatCompletion,
  createResponse,
  getResponse,
  createImage,
  createVideo,
  getVideo,
  getVideoContent,
  getJob,
  listJobs,
];
