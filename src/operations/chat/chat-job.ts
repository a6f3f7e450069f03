import type { Price } from '../../catalog/price.ts';
import type { JsonObject } from '../../kit/json.ts';
import { parseRate, formatRate, parseUsd, formatUsd, priceAtRates, type Nano } from '../../kit/money.ts';
import type { TextMessage, TextUsage } from '../../providers/text/text-provider.ts';

/** A price as JSON, fixed when a job is admitted: later changes of rates do not change the job's cost. */
export type FrozenPrice = { unit: 'token'; input: string; output: string } | { unit: 'call'; price: string };

export const freezePrice = (price: Price): FrozenPrice => {
  switch (price.unit) {
    case 'call':
      return { unit: 'call', price: formatUsd(price.price) };
    case 'token':
      return { unit: 'token', input: formatRate(price.input), output: formatRate(price.output) };
    case 'second':
      throw new TypeError('text is not priced by the second');
  }
};

/** Returns the cost of `usage` under a frozen price. */
export const chargeFor = (
  price: FrozenPrice,
  usage: Pick<TextUsage, 'promptTokens' | 'completionTokens'>,
): Nano =>
  price.unit === 'call'
    ? parseUsd(price.price)
    : priceAtRates([
        { units: usage.promptTokens, rate: parseRate(price.input) },
        { units: usage.completionTokens, rate: parseRate(price.output) },
      ]);

/** Every message costs these beside its text: role and separators. */
const tokensPerMessage = 16;

/**
 * Returns an upper bound of the prompt's tokens in linear time: a token has at least one UTF-8 byte. It is far above the
 * true number for plain text, which makes the hold larger, but not the charge. `tokensPerMedia` is the bound of a picture,
 * and the minimum of a sound.
 */
export const promptTokensUpperBound = (
  request: { messages: TextMessage[]; options: JsonObject },
  tokensPerMedia: number,
): number => {
  let tokens = Buffer.byteLength(JSON.stringify(request.options));
  for (const { content, ...rest } of request.messages) {
    tokens += tokensPerMessage + Buffer.byteLength(JSON.stringify(rest));
    tokens += contentTokens(content, tokensPerMedia);
  }
  return tokens;
};

const contentTokens = (content: TextMessage['content'], tokensPerMedia: number): number => {
  if (content === undefined || content === null) return 0;
  if (typeof content === 'string') return Buffer.byteLength(content);
  return content.reduce((sum, part) => sum + partTokens(part, tokensPerMedia), 0);
};

/** Speech has 750 bytes a second or more (Opus), a third more in base64, and models count 32 tokens a second or fewer. */
const audioLengthPerToken = 24;

const partTokens = (part: JsonObject, tokensPerMedia: number): number => {
  switch (part['type']) {
    case 'image_url':
      return tokensPerMedia;
    case 'input_audio':
      return Math.max(tokensPerMedia, Math.ceil(JSON.stringify(part).length / audioLengthPerToken));
    default:
      return Buffer.byteLength(JSON.stringify(part));
  }
};
