/** The address of ModelArk's generation tasks. `/api/v3` at the end of `baseUrl` may be there or not. */
export const tasksUrl = (baseUrl: string): string =>
  `${baseUrl.replace(/\/api\/v3$/, '')}/api/v3/contents/generations/tasks`;
