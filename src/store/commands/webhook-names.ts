/** pending: to be sent. delivered: acknowledged. stopped: the receiver answered 410. exhausted: no attempts left. */
export const webhookStates = ['pending', 'delivered', 'stopped', 'exhausted'] as const;
export type WebhookState = (typeof webhookStates)[number];

export const webhookEvents = ['job.finished', 'key.budget_reached', 'balance.low', 'webhook.test'] as const;
export type WebhookEventName = (typeof webhookEvents)[number];
