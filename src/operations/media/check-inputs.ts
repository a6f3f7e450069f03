import { isDataUri } from '../../media/data-uri.ts';
import { maxInputBytes } from '../../media/fetch-input.ts';
import { checkInputUrl } from '../../media/stream-input.ts';
import type { AccountCall, Services } from '../call.ts';

/**
 * Refuses images and sounds that cannot be taken, as far as that is known without reaching outside: decodes data URIs,
 * and reads addresses. Throws AppError.
 */
export const checkInputs = async (
  inputs: readonly { url: string; param: string; kind: 'image' | 'audio' }[],
  { caller: { accountId }, signal }: AccountCall,
  { fetchInput, config }: Pick<Services, 'fetchInput' | 'config'>,
): Promise<void> => {
  for (const { url, param, kind } of inputs) {
    const options = { kinds: [kind], maxBytes: maxInputBytes[kind], param, signal, accountId };
    if (isDataUri(url)) await fetchInput(url, options);
    else checkInputUrl(url, options, { allowsLoopback: config.allowsLoopbackUrls });
  }
};
