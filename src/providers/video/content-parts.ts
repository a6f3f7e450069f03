import type { DataUri } from './json-body.ts';
import type { VideoInput } from './video-provider.ts';

/** Inputs as `content` parts, which ModelArk and this service's own `/v1/videos` have in common. */
export const contentParts = (
  inputs: readonly VideoInput[],
  urls: readonly (DataUri | string)[],
): Record<string, unknown>[] =>
  inputs.map(({ role, contentType }, index) => {
    const kind = contentType.slice(0, contentType.indexOf('/'));
    return { type: `${kind}_url`, [`${kind}_url`]: { url: urls[index] }, role };
  });
