import { describe, expect, it } from 'vitest';
import { promptText } from '../../../src/providers/tokens/token-counter.ts';

describe('what is counted of a prompt', () => {
  it('is the text of all messages, calls and tools, and a fixed amount for pictures', () => {
    const prompt = promptText({
      messages: [
        { role: 'system', content: 'Be brief. ' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this? ' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(1_000)}` } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'a fox' },
      ],
      options: { tools: [{ type: 'function' }], temperature: 1 },
    });
    expect(prompt.text).toBe('Be brief. What is this? look{"at":1}a fox[{"type":"function"}]');
    expect(prompt.extraTokens).toBe(3 + 4 * 4 + 85);
  });
});
