import { createHmac, timingSafeEqual } from 'node:crypto';

export interface ReceivedWebhook {
  headers: Record<string, string | string[] | undefined>;
  /** The body as it came, before any parsing. */
  raw: Buffer;
}

/** Whether a callback is genuine, by the contract's rules ("Authentication", 6 to 8) alone. */
export const verifyByContract = (
  { headers, raw }: ReceivedWebhook,
  { secret, now }: { secret: string; now: number },
): boolean => {
  const header = headers['x-causeway-signature'];
  if (typeof header !== 'string') return false;
  const parts = header.split(',').map((part) => part.split('='));
  const timestamp = parts.find(([name]) => name === 't')?.[1] ?? '';
  if (!/^\d+$/.test(timestamp) || Math.abs(now / 1_000 - Number(timestamp)) > 300) return false;
  const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(raw).digest();
  return parts.some(([name, digest = '']) => {
    const given = Buffer.from(digest, 'hex');
    return name === 'v1' && given.length === expected.length && timingSafeEqual(given, expected);
  });
};
