import { toIso } from '../../kit/clock.ts';
import { newId } from '../../kit/ids.ts';
import { run, type Steps } from '../command.ts';
import { addWebhook, type NewWebhook } from './webhooks.ts';

/** Adds an event that is due now, with these facts in its body. */
export const tellEvent = (event: Omit<NewWebhook, 'id' | 'body'>, facts: object): Steps<void> => {
  const id = newId();
  const body = { event_id: id, type: event.event, ...facts, created_at: toIso(event.now) };
  return run(addWebhook, { ...event, id, body: JSON.stringify(body) });
};
