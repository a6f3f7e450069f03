import { expect, it } from 'vitest';
import { toolsToName } from '../../src/operations/keys/key-fields.ts';
import { mountConfig, programTarget } from './mount-config.ts';

it('a key names mounted tools as callers know them, and none that is hidden', async () => {
  const settings = { fixed: {}, defaults: {} };
  const mounts = [
    mountConfig('files', programTarget(), {
      hide: ['write'],
      tools: new Map([['read_text_file', { ...settings, name: 'read' }]]),
    }),
  ];
  const accepted = ['read_text_file', 'write', 'list'].map((tool) => ({ server: 'files', tool, pin: '' }));
  const store = {
    listAcceptedPins: async () => [...accepted, { server: 'gone', tool: 'list', pin: '' }],
  };
  expect(await toolsToName(mounts, store)).toEqual(['files', 'files__read', 'files__list']);
});
