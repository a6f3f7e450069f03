import { expect, test } from 'vitest';
import { chatInput, forwardedOptions } from '../../../src/operations/chat/chat-input.ts';

test.each([
  ['flex', { service_tier: 'flex' }],
  ['default', { service_tier: 'default' }],
  ['priority', {}],
  ['a tier of tomorrow', {}],
])(
  'an upstream is asked for no service tier that may cost more than the price of the SKU: %s',
  (tier, asked) => {
    const messages = [{ role: 'user', content: 'Hello' }];
    expect(forwardedOptions(chatInput.parse({ messages, service_tier: tier }))).toEqual(asked);
  },
);
