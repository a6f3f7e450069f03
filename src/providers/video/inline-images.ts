import { DataUri } from './json-body.ts';
import type { VideoInput } from './video-provider.ts';

/**
 * The text by which each input is sent, in their order: images in the request itself, as many as fit into `maxBytes`
 * together; other images, videos and sounds by their address.
 */
export const inlineImages = async (
  inputs: readonly VideoInput[],
  { maxBytes, signal }: { maxBytes: number; signal: AbortSignal },
): Promise<(DataUri | string)[]> => {
  const sent: (DataUri | string)[] = [];
  let left = maxBytes;
  for (const input of inputs) {
    const bytes = input.contentType.startsWith('image/') && left > 0 ? await input.load(signal) : null;
    if (bytes === null || bytes.length > left) {
      sent.push(input.url);
      continue;
    }
    left -= bytes.length;
    sent.push(new DataUri(input.contentType, bytes));
  }
  return sent;
};
