/** The kind of an output item, at the beginning of its id. */
type ItemPrefix = 'msg' | 'fc' | 'rs';

export const responseId = (jobId: string): string => `resp_${jobId}`;

/** Returns the id of an output item. It contains the job id, so that a reference finds the response. */
export const outputItemId = (prefix: ItemPrefix, jobId: string, outputIndex: number): string =>
  `${prefix}_${jobId}_${outputIndex}`;

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
export const responseIdPattern = new RegExp(`^resp_(${uuid})$`, 'i');
const itemPattern = new RegExp(`^(?:msg|fc|rs)_(${uuid})_\\d{1,6}$`);

/** Returns the job id in a response id. Null when the text is no response id. */
export const jobIdOfResponse = (id: string): string | null =>
  responseIdPattern.exec(id)?.[1]?.toLowerCase() ?? null;

/** Returns the job id in an output item's id. Null when the id is not ours. */
export const jobIdOfItem = (id: string): string | null => itemPattern.exec(id)?.[1] ?? null;

/** The documentation of the header that every answer with a response carries. */
export const responseIdHeader = { 'X-Response-Id': '`resp_` and the job id: the way to recover the answer.' };
