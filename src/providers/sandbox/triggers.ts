import { pause } from '../../kit/repeat.ts';
import { ProviderError } from '../provider-error.ts';

/** What words in a prompt make the sandbox do; docs/contract.md, "Sandbox triggers". */
export interface SandboxTriggers {
  fails: boolean;
  isModerated: boolean;
  isRateLimited: boolean;
  stalls: boolean;
  isTruncated: boolean;
  /** Time to take before anything else, in milliseconds. */
  delayMs: number;
}

const marker = '[sandbox:';
const longestDelaySeconds = 600;
/** A prompt with more markers than this is read no further. */
const markerLimit = 100;

/** The triggers in a prompt. Words that are no trigger mean nothing. */
export const readTriggers = (prompt: string): SandboxTriggers => {
  const words = markedWords(prompt);
  const slow = words.find((word) => /^slow=\d{1,9}(\.\d{1,3})?$/.test(word));
  const seconds = slow === undefined ? 0 : Number(slow.slice('slow='.length));
  return {
    fails: words.includes('fail'),
    isModerated: words.includes('moderated'),
    isRateLimited: words.includes('rate_limit'),
    stalls: words.includes('stall'),
    isTruncated: words.includes('truncate'),
    delayMs: Math.min(seconds, longestDelaySeconds) * 1000,
  };
};

const markedWords = (prompt: string): string[] => {
  const words: string[] = [];
  let start = prompt.indexOf(marker);
  while (start >= 0 && words.length < markerLimit) {
    const from = start + marker.length;
    const end = prompt.slice(from, from + 32).indexOf(']');
    if (end >= 0) words.push(prompt.slice(from, from + end));
    start = prompt.indexOf(marker, from);
  }
  return words;
};

/**
 * Waits as long as the triggers say, then throws the failure they ask for. The failures are of the fatal
 * class, so that a customer's test neither repeats itself nor opens a breaker that others share.
 */
export const obeyTriggers = async (triggers: SandboxTriggers, signal: AbortSignal): Promise<void> => {
  if (triggers.delayMs > 0) await pause(triggers.delayMs, signal);
  signal.throwIfAborted();
  if (triggers.isModerated)
    throw new ProviderError('the prompt asked the sandbox for a refusal', {
      failure: 'fatal',
      code: 'content_policy_violation',
      explanation: 'The sandbox refused this prompt because it contains [sandbox:moderated].',
    });
  if (triggers.isRateLimited)
    throw new ProviderError('the prompt asked the sandbox for a rate limit', {
      failure: 'fatal',
      code: 'rate_limit_exceeded',
      retryAfterMs: 1_000,
    });
  if (triggers.fails)
    throw new ProviderError('the prompt asked the sandbox to fail', {
      failure: 'fatal',
      code: 'upstream_error',
    });
};

/** Does nothing until `signal` aborts; gives up after ten minutes, as no wait is without a limit. */
export const stall = async (signal: AbortSignal): Promise<never> => {
  await pause(longestDelaySeconds * 1000, signal);
  signal.throwIfAborted();
  throw new ProviderError('the prompt asked the sandbox to stall', {
    failure: 'ambiguous',
    code: 'upstream_error',
  });
};
