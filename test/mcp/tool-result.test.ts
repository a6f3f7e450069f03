import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { toPaymentRequiredResult } from '../../src/mcp/tool-result.ts';
import type { PaymentRequiredAnswer } from '../../src/operations/answer.ts';
import { nothingWrong } from '../../src/payments/sale/gate.ts';

type Terms = PaymentRequiredAnswer['challenge']['paymentRequired'];

const evm = (network: `${string}:${string}`, asset: string): Terms['accepts'][number] => ({
  scheme: 'exact',
  network,
  asset,
  amount: '260000',
  payTo: '0x51F9c6e1Bd6A90a0c5B3F2d0A8c5Fe4c8E0b7D3a',
  maxTimeoutSeconds: 300,
  extra: { name: 'USD Coin', version: '2', facilitator: '0x9A41f0E6b1cD93a2B57e80c8F1d5e2A7b6C43d90' },
});

const fourNetworks: Terms['accepts'] = [
  evm('eip155:8453', '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'),
  {
    ...evm('solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'),
    payTo: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin',
    extra: {
      feePayer: '2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4',
      facilitator: '7Np41oeYqPefeNQEHSv1UDhYrehxin3NStELsSKCT4K2',
    },
  },
  evm('eip155:1', '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'),
  evm('eip155:56', '0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d'),
];

const challengeOf = (accepts: Terms['accepts'], error = nothingWrong): PaymentRequiredAnswer => ({
  kind: 'payment_required',
  isSandbox: false,
  challenge: {
    header: '',
    paymentRequired: {
      x402Version: 2,
      error,
      resource: {
        url: 'https://causeway.example.com/mcp',
        description: 'Influencer search over generated, fictional profiles',
        mimeType: 'application/json',
      },
      accepts,
      extensions: { bazaar: { info: { input: {} }, schema: { type: 'object', properties: {} } } },
    },
    body: {
      error,
      x402: { version: '2', amount: '0.26', asset: 'USDC', payTo: '0x51F9', chain: 'base' },
      x402Version: 1,
      accepts: [],
    },
  },
});

const textOf = (answer: PaymentRequiredAnswer): string => {
  const [block] = toPaymentRequiredResult(answer).content;
  return block?.type === 'text' ? block.text : '';
};
const termsText = z.object({
  error: z.string(),
  x402Version: z.literal(2),
  resource: z.object({ url: z.url() }),
  accepts: z.array(z.unknown()),
});

describe('the text of terms', () => {
  it('begins with the price and what a client needs, and has no schema and at most 600 tokens', () => {
    const text = textOf(challengeOf(fourNetworks, 'invalid_exact_evm_payload_signature '.repeat(20)));
    expect(text).toMatch(/^\{"error":"This call costs \$0\.26 .*x402 client signs 0\.26 USDC/);
    expect(text).not.toContain('schema');
    expect(countTokens(text)).toBeLessThanOrEqual(600);
  });

  it('is JSON that a client without structured content pays by: whole terms, the first ones at least', () => {
    const read = termsText.parse(JSON.parse(textOf(challengeOf(fourNetworks))));
    expect(read.accepts).toEqual(fourNetworks.slice(0, 2));
    const [first] = fourNetworks;
    const long = { ...first!, extra: { name: 'x'.repeat(5_000) } };
    expect(termsText.parse(JSON.parse(textOf(challengeOf([long, ...fourNetworks])))).accepts).toEqual([long]);
  });

  it('says why a payment was refused', () => {
    expect(textOf(challengeOf(fourNetworks, 'insufficient_funds'))).toContain(
      'The payment was refused: insufficient_funds.',
    );
  });

  it('says that a call which is paid by its use costs at most the price', () => {
    const upto = { ...fourNetworks[0]!, scheme: 'upto' as const };
    expect(textOf(challengeOf([upto, ...fourNetworks]))).toContain('costs at most $0.26');
  });

  it('leaves the whole terms as structured content and in _meta', () => {
    const answer = challengeOf(fourNetworks);
    const { paymentRequired } = answer.challenge;
    const { structuredContent, _meta } = toPaymentRequiredResult(answer);
    expect([structuredContent, _meta?.['x402/error']]).toEqual([paymentRequired, paymentRequired]);
  });
});
