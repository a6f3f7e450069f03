import { DataUri } from './json-body.ts';
import type { VideoInput } from './video-provider.ts';

/**
 * Makes the `content` parts of inputs, in their order. Images are sent in the request itself, as many as fit into
 * `maxBytes` together; other images, videos and sounds are sent by their address.
 */
export const contentParts = async (
  inputs: readonly VideoInput[],
  { maxBytes, signal }: { maxBytes: number; signal: AbortSignal },
): Promise<Record<string, unknown>[]> => {
  const parts: Record<string, unknown>[] = [];
  let leftBytes = maxBytes;
  for (const input of inputs) {
    const kind = input.contentType.slice(0, input.contentType.indexOf('/'));
    const bytes = kind === 'image' && leftBytes > 0 ? await input.load(signal) : null;
    const isInline = bytes !== null && bytes.length <= leftBytes;
    if (isInline) leftBytes -= bytes.length;
    const url = isInline ? new DataUri(input.contentType, bytes) : input.url;
    parts.push({ type: `${kind}_url`, [`${kind}_url`]: { url }, role: input.role });
  }
  return parts;
};
