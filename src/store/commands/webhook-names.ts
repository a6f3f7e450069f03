/** pending: to be sent. delivered: acknowledged. stopped: the receiver answered 410. exhausted: no attempts left. */
export const webhookStates = ['pending', 'delivered', 'stopped', 'exhausted'] as const;
export type WebhookState = (typeof webhookStates)[number];

/** The events that are for an account. */
export const webhookEvents = ['job.finished', 'key.budget_reached', 'balance.low', 'webhook.test'] as const;
export type AccountEventName = (typeof webhookEvents)[number];
/** The events that are for the operator. */
export const alertEvents = ['alert.began', 'alert.ended'] as const;
export type WebhookEventName = AccountEventName | (typeof alertEvents)[number];
