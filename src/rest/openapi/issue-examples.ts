/** One wrong field, as its 422 names it. */
export interface IssueExample {
  place: 'query' | 'path' | 'body';
  field: string;
  msg: string;
  type: string;
}

const isTooLong = (field: string): IssueExample => ({
  place: 'path',
  field,
  msg: 'must have at most 128 characters',
  type: 'less_than_equal',
});

const isMissing = (field: string): IssueExample => ({
  place: 'body',
  field,
  msg: 'is required',
  type: 'missing',
});

const pageIsTooLong: IssueExample = {
  place: 'query',
  field: 'limit',
  msg: 'must be at most 100',
  type: 'less_than_equal',
};

const isNoChoice = (field: string, choices: string, place: 'query' | 'body' = 'query'): IssueExample => ({
  place,
  field,
  msg: `must be ${choices}`,
  type: 'value_error',
});

/** A wrong field of each operation that has any. */
const issueExamples: Readonly<Record<string, IssueExample>> = {
  search_leads: isNoChoice('gender', '"male" or "female"'),
  get_model: isTooLong('model'),
  get_usage: isNoChoice('from', 'an ISO 8601 date-time with its zone, such as 2026-01-31T12:00:00Z'),
  list_jobs: pageIsTooLong,
  list_transactions: pageIsTooLong,
  create_chat_completion: isMissing('messages'),
  create_response: isMissing('input'),
  get_response: {
    place: 'path',
    field: 'response_id',
    msg: 'must be resp_ followed by a UUID',
    type: 'value_error',
  },
  create_image: isMissing('prompt'),
  create_video: isNoChoice('resolution', '"480p", "720p", "1080p" or "4k"', 'body'),
  get_video: isTooLong('video_id'),
  get_video_content: isNoChoice('variant', '"video" or "last_frame"'),
  get_job: isTooLong('job_id'),
};

/** A wrong field of an operation. Throws Error for one that has no fields. */
export const issueExample = (operation: string): IssueExample => {
  const example = issueExamples[operation];
  if (example === undefined) throw new Error(`${operation} has no example of a wrong field`);
  return example;
};
