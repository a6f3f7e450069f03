import type { UsedKey } from '../../store/store.ts';
import type { Services } from '../call.ts';
import { historyOperation } from '../account/history-page.ts';
import { assertManagesKeys, keySchema, keyView } from './key-answer.ts';

export const listKeys = historyOperation({
  name: 'list_keys',
  title: 'List keys',
  description:
    'The API keys of this account with their limits, newest first. Not with a key that has limits. Free.',
  path: '/v1/keys',
  view: { schema: keySchema, example: keyView.example, show: (key: UsedKey) => keyView.show(key) },
  answer: 'KeyPage',
  example: { summary: 'The newest keys', limit: 50 },
  errors: ['permission_denied'],
  // A model must not manage keys.
  tool: null,
  read: async (position, { caller }, { store, clock }: Pick<Services, 'store' | 'clock'>) => {
    assertManagesKeys(caller);
    return store.listKeys({ ...position, now: clock.now() });
  },
});
