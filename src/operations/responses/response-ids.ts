/** What an output item is, as the beginning of its id says. */
type ItemPrefix = 'msg' | 'fc' | 'rs';

/** The public id of a response. */
export const responseId = (jobId: string): string => `resp_${jobId}`;

/** The id of an output item: it names the job, so that a reference to it finds the response it stands in. */
export const outputItemId = (prefix: ItemPrefix, jobId: string, outputIndex: number): string =>
  `${prefix}_${jobId}_${outputIndex}`;

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
export const responseIdPattern = new RegExp(`^resp_(${uuid})$`, 'i');
const itemPattern = new RegExp(`^(?:msg|fc|rs)_(${uuid})_\\d{1,6}$`);

/** The job of a response id; null when it is none. */
export const jobIdOfResponse = (id: string): string | null =>
  responseIdPattern.exec(id)?.[1]?.toLowerCase() ?? null;

/** The job of an output item's id; null when it is none of ours. */
export const jobIdOfItem = (id: string): string | null => itemPattern.exec(id)?.[1] ?? null;

/** The documentation of the header that every answer with a response carries. */
export const responseIdHeader = {
  'X-Response-Id': '`resp_` and the job id: the way to recover the answer.',
};
