import { wholeNumber, type VariableValues } from '../kit/settings.ts';

export const limitVariables = {
  REQUESTS_PER_MINUTE: wholeNumber(1, 1_000_000, 600).describe(
    'calls of one account in a minute, over REST and MCP together',
  ),
  ACTIVE_VIDEOS: wholeNumber(1, 10_000, 5).describe('videos of one account that may be queued or running'),
  MAX_BODY_BYTES: wholeNumber(1024, 1024 ** 3, 20 * 1024 ** 2).describe(
    'largest request body; a larger one answers 413',
  ),
  RESPONSES_MAX_BYTES: wholeNumber(1024, 1024 ** 3, 4 * 1024 ** 2).describe(
    'largest Responses request; a larger one answers 400 `input_too_large`',
  ),
  TOOLS_LISTED_MAX: wholeNumber(0, 10_000, 40).describe(
    'mounted tools in one list over MCP; above it, [a search](operators-tools.md#who-may-call-what) takes their place',
  ),
  BODY_MEMORY_BYTES: wholeNumber(1024 ** 2, 1024 ** 4, 256 * 1024 ** 2).describe(
    'memory for large requests; see [Memory](#memory)',
  ),
};

export type LimitSettings = ReturnType<typeof readLimitSettings>;

export const readLimitSettings = (values: VariableValues<typeof limitVariables>) => ({
  requestsPerMinute: values.REQUESTS_PER_MINUTE,
  activeVideos: values.ACTIVE_VIDEOS,
  maxBodyBytes: values.MAX_BODY_BYTES,
  responsesMaxBytes: values.RESPONSES_MAX_BYTES,
  toolsListedMax: values.TOOLS_LISTED_MAX,
  bodyMemoryBytes: values.BODY_MEMORY_BYTES,
});
