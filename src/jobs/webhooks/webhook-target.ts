import { checkUrl } from '../../http/check-url.ts';
import { OutboundError } from '../../http/outbound.ts';

const maxCharacters = 2_048;

/**
 * Returns a sentence for the customer if a `webhook_url` is refused, else null. Does not resolve the host: every
 * delivery checks the address that it connects to.
 */
export const webhookTargetProblem = (
  url: string,
  { allowsLoopback }: { allowsLoopback: boolean },
): string | null => {
  if (url.length > maxCharacters) return `The URL is longer than ${maxCharacters} characters.`;
  try {
    checkUrl(url, { allowsLoopback });
    return null;
  } catch (error) {
    if (error instanceof OutboundError) return error.message;
    throw error;
  }
};
