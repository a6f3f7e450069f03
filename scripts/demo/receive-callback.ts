import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { must, say, step, type Gateway } from './stage.ts';

const callbackTimeoutMs = 30_000;

interface Callback {
  headers: Record<string, string>;
  body: string;
}

/** Makes an image with a webhook to a receiver on this machine, which verifies the signature. */
export const receiveCallback = async (gateway: Gateway): Promise<void> => {
  await step('Create an image with a webhook, and verify its signature (standardwebhooks)', async () => {
    const authorization = `Bearer ${gateway.apiKey}`;
    const balance = await fetch(`${gateway.url}/v1/balance`, { headers: { authorization } });
    const { webhook_secret: secret } = (await balance.json()) as { webhook_secret: string };

    const received = Promise.withResolvers<Callback>();
    const receiver = createServer((request, response) => {
      void text(request).then((body) => {
        response.end();
        received.resolve({ headers: request.headers as Record<string, string>, body });
      });
    });
    receiver.listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    const timer = setTimeout(() => received.reject(new Error('no webhook arrived')), callbackTimeoutMs);
    try {
      const created = await fetch(`${gateway.url}/v1/images/generations?async=true`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'imagemodel-1.0',
          prompt: 'A lighthouse in the fog',
          webhook_url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/done`,
          custom_data: { order: 'A-17' },
        }),
      });
      must(created.status === 202, `the image is queued with 202, not ${created.status}`);
      const { id } = (await created.json()) as { id: string };
      const { headers, body } = await received.promise;
      const event = new Webhook(secret).verify(body, headers) as {
        id: string;
        status: string;
        event_id: string;
        custom_data: { order: string };
      };
      must(event.id === id && event.status === 'done', 'the webhook is for this image');
      must(event.custom_data.order === 'A-17', 'custom_data comes back');
      say(`event ${event.event_id}: image ${event.status}, order ${event.custom_data.order}`);
    } finally {
      clearTimeout(timer);
      receiver.close();
    }
  });
};
