/** Whether If-None-Match names the tag (or `*`): the reader has these bytes. Weak and strong tags compare alike here. */
export const isNoneMatch = (header: string | undefined, etag: string): boolean =>
  header !== undefined &&
  header.split(',').some((part) => {
    const tag = part.trim();
    return tag === '*' || tag === etag || tag === `W/${etag}`;
  });

/**
 * Whether a Range applies under If-Range: without one, or when it is exactly our strong tag. A date never matches, as we
 * send none to compare it with.
 */
export const isIfRangeMet = (header: string | undefined, etag: string): boolean =>
  header === undefined || header.trim() === etag;
