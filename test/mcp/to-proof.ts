import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { stubPayer } from './stub-facilitator.ts';

const termsSchema = z.object({
  accepts: z.array(z.looseObject({ amount: z.string(), payTo: z.string() })).min(1),
});

/** A proof that answers the terms; whether its signature is right is for the facilitator to say. */
export const toProof = (terms: unknown) => {
  const [accepted] = termsSchema.parse(terms).accepts;
  return {
    x402Version: 2,
    accepted,
    payload: {
      signature: `0x${'11'.repeat(65)}`,
      authorization: {
        from: stubPayer,
        to: accepted?.payTo,
        value: accepted?.amount,
        validAfter: '0',
        validBefore: String(Math.floor(Date.now() / 1000) + 300),
        nonce: `0x${randomBytes(32).toString('hex')}`,
      },
    },
  };
};
