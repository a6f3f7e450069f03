import { pause } from '../../kit/repeat.ts';
import { ProviderError } from '../provider-error.ts';

/** The effects of trigger words in a prompt; see docs/contract.md, "Sandbox triggers". */
export type SandboxTriggers = ReturnType<typeof readTriggers>;

const marker = /\[sandbox:([^[\]]{1,31})\]/g;
const maxDelaySeconds = 600;
/** Markers of a prompt that are read. */
const markerLimit = 100;

/** Reads the triggers in a prompt. Unknown words have no effect. */
export const readTriggers = (prompt: string) => {
  const words = Array.from(prompt.matchAll(marker).take(markerLimit), ([, word]) => word ?? '');
  const slow = words.find((word) => /^slow=\d{1,9}(\.\d{1,3})?$/.test(word));
  const seconds = slow === undefined ? 0 : Number(slow.slice('slow='.length));
  return {
    fails: words.includes('fail'),
    isModerated: words.includes('moderated'),
    isRateLimited: words.includes('rate_limit'),
    stalls: words.includes('stall'),
    isTruncated: words.includes('truncate'),
    /** Time to wait before anything else. */
    delayMs: Math.min(seconds, maxDelaySeconds) * 1000,
  };
};

/** Waits, then throws the wanted failure: `fatal`, so that a test is not repeated and opens no breaker of others. */
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
  if (triggers.fails) throw new ProviderError('the prompt asked the sandbox to fail', { failure: 'fatal' });
};

/** Waits until `signal` aborts, at most ten minutes, and then throws. */
export const stall = async (signal: AbortSignal): Promise<never> => {
  await pause(maxDelaySeconds * 1000, signal);
  signal.throwIfAborted();
  throw new ProviderError('the prompt asked the sandbox to stall', { failure: 'ambiguous' });
};
