import { expect, it } from 'vitest';
import { silentLog } from '../../src/kit/log.ts';
import { createStdioTransport } from '../../src/mounts/create-stdio-transport.ts';

it('forgets a process after it was noted, though it ends at once', async () => {
  const order: string[] = [];
  const ended = Promise.withResolvers<void>();
  const transport = createStdioTransport(
    { kind: 'stdio', command: 'true', args: [], env: {}, sandbox: null },
    {
      log: silentLog,
      groups: {
        note: async () => {
          await ended.promise;
          order.push('noted');
        },
        forget: async () => void order.push('forgotten'),
      },
    },
  );
  Object.assign(transport, { onclose: () => ended.resolve() });
  await transport.start();
  await transport.close();
  expect(order).toEqual(['noted', 'forgotten']);
});
