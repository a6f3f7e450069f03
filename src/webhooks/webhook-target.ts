import { checkUrl } from '../http/check-url.ts';
import { OutboundError } from '../http/outbound.ts';

const maxCharacters = 2_048;

/**
 * Why a `webhook_url` cannot be taken, as a sentence for the customer; null when it can, as far as can be told without a
 * look-up: every delivery checks the address that it connects to.
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
